enum wide { WIDE_LOW = 1, WIDE_HIGH = 1ULL << 40 };
enum top { TOP = 0xffffffffffffffffULL };
enum negative { LEAST = -1, MOST = 0x80000000 };
enum flags { FIRST = 1 << 31, ALL = ~0, NONE = 0 };
enum context { HV = (unsigned long long)-32, KERNEL = (unsigned long long)-128 };
enum next { BELOW = 0x7ffffffe, ABOVE };
enum __attribute__((packed)) byte { BYTE = 255 };
enum half { HALF = 256 } __attribute__((packed));
enum words { selves, string __attribute__((deprecated)) = 7, };
