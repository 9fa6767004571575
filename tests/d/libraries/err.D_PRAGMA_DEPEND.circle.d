/*
 * Libraries must not depend on each other in a circle.
 * @flags: -L circle
 */
BEGIN { exit(0); }
