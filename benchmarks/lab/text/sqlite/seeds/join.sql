CREATE TABLE a(id INTEGER PRIMARY KEY, name TEXT NOT NULL, x REAL DEFAULT 1.5);
INSERT INTO a(name) VALUES('one'), ('two');
SELECT p.name, count(*) FROM a AS p LEFT JOIN a q ON p.id < q.id GROUP BY 1 HAVING count(*) > 0;
