/*
 * A printf that ends in a newline leaves a blank line when not quiet.
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN { printf("text\n"); exit(0); }
