/*
 * json returns a member of an object by its path.
 * @flags: -q
 */
BEGIN
{
	this->j = "{\"name\": \"bart\", \"age\": 10, \"on\": true, \"off\": null, \
\"in\": {\"a\": {\"b\": -1.5e3}}}";
	printf("%s %s %s %s %s\n", json(this->j, "name"), json(this->j, "age"),
	    json(this->j, "on"), json(this->j, "off"), json(this->j, "in.a.b"));
	printf("%s\n", json(this->j, "in.a"));
	printf("%d %d\n", json(this->j, "none") == NULL, json(this->j, "name.x") == NULL);
	exit(0);
}
