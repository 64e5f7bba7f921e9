kr
SELECT a.x, count(*) AS n FROM t a LEFT JOIN u ON a.id = u.id -- c
WHERE x IN (1, 2) AND y LIKE 'z%' OR NOT z BETWEEN 1 AND 2 GROUP BY 1 HAVING n > 1 ORDER BY n DESC;
INSERT INTO t (a, b) VALUES (1, 'x');
