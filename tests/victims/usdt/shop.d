/* The provider of shop.c. It uses everything that a provider definition may contain. */
#define Amount unsigned int
#define Flag unsigned char
typedef unsigned short kind_t;
enum state { NEW = 1, SOLD = 5 };
typedef struct part { int weight; const char *label; struct part *next; } part_t;
typedef struct { int number; part_t *first; unsigned open : 3, closed : 5; } order_t;
typedef struct { long order_number; string label; } orderinfo_t;

provider shop {
	probe start();
	probe order__placed(order_t *, struct part *, enum state);
	probe sum(Amount, Flag, kind_t, long, long long, double, float);
	probe names(const char *, char *, void *);
	probe place(int i, int j, const char *what) : (int j, int i);
	probe shown(order_t *order, int n) : (int n, orderinfo_t *order);
	probe bare-name(int);
};

#pragma D attributes Evolving/Evolving/Common provider shop provider
#pragma D attributes Evolving/Evolving/Common provider shop module
#pragma D attributes Evolving/Evolving/Common provider shop function
#pragma D attributes Stable/Stable/Common provider shop name
#pragma D attributes Stable/Private/ISA provider shop args
