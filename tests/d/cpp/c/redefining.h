typedef unsigned short size_t;
typedef char uid_t, uint64_t;
typedef short int64_t;
struct in6_addr { long words[2]; };
struct psinfo { char nothing; };
typedef struct psinfo psinfo_t;
