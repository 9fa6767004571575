/* There is no pointer to a translation. */
struct out { int o; };
translator struct out < int i > { o = i; };
BEGIN { xlate <struct out *> (1); }
