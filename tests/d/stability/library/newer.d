#pragma D binding "1.6" newer
inline int newer = 6;
#pragma D binding "1.2" older
inline int older = 2;
#pragma D binding "1.6" translator
struct lib_raw { int a; };
typedef struct lib_nice { int b; } lib_nice_t;
translator lib_nice_t < struct lib_raw *r > { b = r->a; };
