/* A pointer that xlate returns cannot be cast to an integer. */
struct out { int o; };
translator struct out < int i > { o = i; };
BEGIN { trace((uintptr_t)xlate <struct out *> (1)); }
