obj.spec.mode = "Automatic"
return obj
