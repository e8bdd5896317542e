"""The resources: pydantic models, CEL rules beside the fields they guard, the CRD generator."""
