-- Migration 0002 keeps the planner from new samples of texts and names; those of before it go here. Another type, the same
-- as before, is what drops a column's samples without a superuser's rights; its table's triggers have to be away meanwhile.
DO $$
DECLARE
    sampled record;
    trigger record;
    triggers text[];
BEGIN
    FOR sampled IN
        SELECT columns.attrelid AS of, columns.attname AS name, format_type(columns.atttypid, columns.atttypmod) AS type,
               CASE WHEN columns.attcollation <> 0 THEN 'COLLATE "C"' ELSE '' END AS collation
        FROM pg_stats AS samples
        JOIN pg_attribute AS columns
            ON columns.attrelid = to_regclass(quote_ident(samples.schemaname) || '.' || quote_ident(samples.tablename))
            AND columns.attname = samples.attname
        WHERE samples.schemaname = current_schema() AND columns.attstattarget = 0
    LOOP
        triggers := '{}';
        FOR trigger IN SELECT oid, tgname FROM pg_trigger WHERE tgrelid = sampled.of AND NOT tgisinternal LOOP
            triggers := triggers || pg_get_triggerdef(trigger.oid);
            EXECUTE format('DROP TRIGGER %I ON %s', trigger.tgname, CAST(sampled.of AS regclass));
        END LOOP;
        EXECUTE format(
            'ALTER TABLE %s ALTER %I TYPE %s %s', CAST(sampled.of AS regclass), sampled.name, sampled.type, sampled.collation
        );
        FOR place IN 1 .. cardinality(triggers) LOOP
            EXECUTE triggers[place];
        END LOOP;
    END LOOP;
END
$$;
