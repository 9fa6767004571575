struct constants {
	char a[~0U == 0xffffffff ? 1 : 2];
	char b[(int)0x80000000 < 0 ? 3 : 4];
	char c[-1 < 0U ? 5 : 6];
	char d[(0xffffffffffffffffULL >> 63) + 6LU];
	char e[(unsigned char)300 + 'A' - 0x40];
	char f[-7 / 2 + 12];
	char g[sizeof (1 ? (char)1 : (short)1)];
	char h[(~0ULL > 0) + 10];
};
