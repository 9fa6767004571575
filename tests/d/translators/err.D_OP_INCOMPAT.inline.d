/* An inline for a translation must have the result type of the translator. */
struct out { int o; };
struct other { int o; };
translator struct out < int i > { o = i; };
inline struct other *wrong = xlate <struct out *> (1);
