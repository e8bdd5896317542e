obj.spec.mode = "RecommendOnly"
return obj
