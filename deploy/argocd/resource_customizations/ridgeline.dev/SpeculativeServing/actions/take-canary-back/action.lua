-- An order of the profile that ran before takes the canary back.
if obj.status == nil or obj.status.rollout == nil or obj.status.rollout.state ~= "Canary" then
  error("no canary is being judged")
end
if obj.status.rollout.from == nil then
  error("no profile of the serving describes what ran before")
end
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["ridgeline.dev/force-profile"] = obj.status.rollout.from
return obj
