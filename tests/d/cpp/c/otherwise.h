enum named { NAMED = 1ULL << 34 };
