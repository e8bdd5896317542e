-- The cut-offs decide again.
if obj.metadata.annotations ~= nil then
  obj.metadata.annotations["ridgeline.dev/force-profile"] = nil
end
return obj
