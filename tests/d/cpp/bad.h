#define FINE 1
int broken[;
