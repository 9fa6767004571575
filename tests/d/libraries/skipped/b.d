#pragma D depends_on provider profile
inline int TWO = 2;
