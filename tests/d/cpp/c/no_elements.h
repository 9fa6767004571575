struct none { };
struct zero { int n; char data[0]; };
struct flexible { int n; long data[]; };
union both { int n; struct zero nested[0]; long many[]; };
struct in_union {
	int n;
	union {
		struct { struct { } empty; unsigned short a[]; };
		struct flexible b[0];
	};
};
