/* A pointer that xlate returns must be dereferenced. */
struct out { int o; };
translator struct out < int i > { o = i; };
BEGIN { xlate <struct out *> (1); }
