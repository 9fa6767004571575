enum large { LOW = 1, HIGH = 0x80000000 };
struct holder { enum large value; };
