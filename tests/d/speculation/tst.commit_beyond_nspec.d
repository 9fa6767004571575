/*
 * Committing an id beyond nspec is an illegal operation.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { commit(2); }
