/* How an order of shop.c appears to users who trace it. */
typedef struct part { int weight; char *label; struct part *next; } part_t;
typedef struct { int number; part_t *first; unsigned open : 3, closed : 5; } order_t;
typedef struct { long order_number; string label; } orderinfo_t;

translator orderinfo_t < order_t *o > {
	order_number = o->number;
	label = stringof(o->first->label);
};
