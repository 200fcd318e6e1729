package dbtest

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// watchSchema notes every change of the schema, except of temporary tables.
const watchSchema = `
CREATE SCHEMA dbtest;
CREATE TABLE dbtest.changes (what text);
CREATE FUNCTION dbtest.changed() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
	IF tg_event = 'sql_drop' THEN
		INSERT INTO dbtest.changes SELECT object_identity FROM pg_event_trigger_dropped_objects() WHERE NOT is_temporary;
	ELSE
		INSERT INTO dbtest.changes SELECT object_identity FROM pg_event_trigger_ddl_commands() WHERE schema_name IS DISTINCT FROM 'pg_temp';
	END IF;
END $$;`

// watchOn turns that on. ALWAYS: also in sessions that leave out other triggers.
const watchOn = `
CREATE EVENT TRIGGER dbtest_made ON ddl_command_end EXECUTE FUNCTION dbtest.changed();
CREATE EVENT TRIGGER dbtest_gone ON sql_drop EXECUTE FUNCTION dbtest.changed();
ALTER EVENT TRIGGER dbtest_made ENABLE ALWAYS;
ALTER EVENT TRIGGER dbtest_gone ENABLE ALWAYS;`

// schemaChanged is true if a test changed the schema, or a setting of the database.
const schemaChanged = `EXISTS (SELECT FROM dbtest.changes)
	OR EXISTS (SELECT FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase WHERE d.datname = current_database())`

// keep makes the function dbtest.empty in a database that is prepared, and begins to keep its copies. The
// function returns false if the database is not as it was; otherwise all tables have the rows that they have
// now. Its session leaves out triggers and foreign keys. The function does not set that itself: PostgreSQL would plan it
// anew at each call.
func (i *instance) keep(ctx context.Context, database string) (err error) {
	conn, err := pgx.Connect(ctx, i.dsn(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, watchSchema, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	list := func(text string) (names []string, err error) {
		rows, err := conn.Query(ctx, text)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowTo[string])
	}
	tables, err := list(`SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`)
	if err != nil {
		return err
	}
	sequences, err := list(`SELECT format('PERFORM setval(%L, %s, %L);', format('%I.%I', schemaname, sequencename), coalesce(last_value, start_value), last_value IS NOT NULL)
		FROM pg_sequences WHERE schemaname = 'public'`)
	if err != nil {
		return err
	}
	var body strings.Builder
	for _, t := range tables {
		fmt.Fprintf(&body, "DELETE FROM public.%s;\n", t)
		var any bool
		if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM public."+t+")").Scan(&any); err != nil {
			return err
		}
		if any {
			if _, err := conn.Exec(ctx, "CREATE TABLE dbtest."+t+" AS TABLE public."+t); err != nil {
				return err
			}
			fmt.Fprintf(&body, "INSERT INTO public.%s OVERRIDING SYSTEM VALUE TABLE dbtest.%s;\n", t, t)
		}
	}
	_, err = conn.Exec(ctx, `CREATE FUNCTION dbtest.empty() RETURNS boolean LANGUAGE plpgsql AS $body$ BEGIN
		IF `+schemaChanged+` THEN RETURN false; END IF;
		`+body.String()+strings.Join(sequences, "\n")+`
		RETURN true; END $body$;`+watchOn, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return err
	}
	i.keeper, err = newKeeper(i)
	return err
}
