/*
 * An aggregation without keys is printed by its value.
 * @flags: -q
 */
BEGIN { @ = max(-5); @ = max(-9); printa("max %@d\n", @); exit(0); }
