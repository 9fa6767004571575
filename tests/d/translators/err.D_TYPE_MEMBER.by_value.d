/* A translator's expressions are checked where it is declared, a struct's by value, too. */
struct in { int i; };
struct out { int o; };
translator struct out < struct in s > { o = s.j; };
