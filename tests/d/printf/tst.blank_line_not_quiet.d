/*
 * A printf that ends in a newline leaves a blank line if quiet is not set.
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN { printf("text\n"); exit(0); }
