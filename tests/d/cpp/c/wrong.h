static inline int skipped(void)
{
	return 1;
}
struct fine {
	int a[2];
} __attribute__((packed));
typedef missing_t wrong;
