/*
 * Conditional expressions nest to the right.
 * @flags: -q
 */
BEGIN { n = 0; }
BEGIN { n = 5; s = n < 0 ? "below" : n == 0 ? "zero" : "above"; printf("%s\n", s); }
BEGIN { n = 0; s = n < 0 ? "below" : n == 0 ? "zero" : "above"; printf("%s\n", s); }
BEGIN { n = -5; s = n < 0 ? "below" : n == 0 ? "zero" : "above"; printf("%s\n", s); exit(0); }
