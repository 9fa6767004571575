/* An inline has the type that its translator gives. */
struct out { int o; };
struct other { int o; };
translator struct out < int i > { o = i; };
inline struct other *wrong = xlate <struct out *> (1);
