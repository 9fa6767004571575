/*
 * json skips whitespace, leaves escapes unchanged, and returns NULL for invalid JSON.
 * @flags: -q
 */
BEGIN
{
	this->j = " { \"a\\\"b\" : 1 , \"c\" : \"x\\\"y\" , \"d\":[ ] , \"e\":{ } } ";
	printf("%s %s %s\n", json(this->j, "c"), json(this->j, "d"), json(this->j, "e"));
	printf("%d %d\n", json("no json", "a") == NULL, json("", "a") == NULL);
	exit(0);
}
