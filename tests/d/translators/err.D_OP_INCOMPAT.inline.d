/* An inline that is a translation must have the translator's result type. */
struct out { int o; };
struct other { int o; };
translator struct out < int i > { o = i; };
inline struct other *wrong = xlate <struct out *> (1);
