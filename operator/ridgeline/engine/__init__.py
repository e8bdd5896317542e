"""Pure: what each vLLM version accepts and exports."""
