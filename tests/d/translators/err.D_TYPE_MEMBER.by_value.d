/* A translator's expressions are checked where it is declared, even if it takes a struct by value. */
struct in { int i; };
struct out { int o; };
translator struct out < struct in s > { o = s.j; };
