#pragma D option quiet
inline int SIDES = 4;
struct shape { int width; int height; };
typedef struct area { int square; int side; } area_t;
inline int twice[int n] = n * 2;
