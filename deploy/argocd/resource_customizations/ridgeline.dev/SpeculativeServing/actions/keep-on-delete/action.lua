obj.spec.onDelete = "Keep"
return obj
