/*
 * An aggregation without keys can be printed with only its value.
 * @flags: -q
 */
BEGIN { @ = max(-5); @ = max(-9); printa("max %@d\n", @); exit(0); }
