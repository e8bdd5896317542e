-- An order of the profile that the canary has lets the other replicas follow.
if obj.status == nil or obj.status.rollout == nil or obj.status.rollout.state ~= "Canary" then
  error("no canary is being judged")
end
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["ridgeline.dev/force-profile"] = obj.status.rollout.to
return obj
