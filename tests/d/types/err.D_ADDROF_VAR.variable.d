/* A D variable has no address. */
BEGIN { x = 1; trace((uintptr_t)&x); }
