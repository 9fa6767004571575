/* A translation is not an address. */
struct out { int o; };
translator struct out < int i > { o = i; };
BEGIN { trace((uintptr_t)xlate <struct out *> (1)); }
