obj.spec.onDelete = "Restore"
return obj
