/*
 * json returns an element of an array by its index.
 * @flags: -q
 */
BEGIN
{
	this->j = "{\"a\": [10, [20, 30], {\"b\": \"x\"}]}";
	printf("%s %s %s %s\n", json(this->j, "a[0]"), json(this->j, "a[1]"),
	    json(this->j, "a[1][1]"), json(this->j, "a[2].b"));
	printf("%d\n", json(this->j, "a[3]") == NULL);
	exit(0);
}
