struct twice { int a; union { long b; char c; }; enum { IN_TWICE } d; };
typedef struct { struct twice *a; } again_t;
typedef enum { ONCE, TWICE = 2 } times_t;
enum named { NAMED = 1ULL << 33 };
typedef int (*callback_t)(struct twice *);
