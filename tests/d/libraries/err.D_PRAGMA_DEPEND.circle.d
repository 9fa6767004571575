/*
 * Libraries that depend on each other have no order.
 * @flags: -L circle
 */
BEGIN { exit(0); }
