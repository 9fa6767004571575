/* A value has no address. */
BEGIN { trace((uintptr_t)&5); }
