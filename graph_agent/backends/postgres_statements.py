"""What is done to the tables of events on a PostgreSQL server, each in one statement."""

VERSION = "CREATE TABLE IF NOT EXISTS graph_agent_schema (name TEXT PRIMARY KEY, version INTEGER)"
OURS = "INSERT INTO graph_agent_schema VALUES ('events', %s) ON CONFLICT DO NOTHING"
FOUND = "SELECT version FROM graph_agent_schema WHERE name = 'events'"
TABLES = (
    """CREATE TABLE IF NOT EXISTS graph_agent_runs (thread_id TEXT PRIMARY KEY,
        number BIGINT NOT NULL, newest BIGINT NOT NULL, ended BOOLEAN NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS graph_agent_events (thread_id TEXT, id BIGINT,
        event TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (thread_id, id))""",
    "CREATE TABLE IF NOT EXISTS graph_agent_cancels (thread_id TEXT PRIMARY KEY, run BIGINT)",
)
BEGIN = """WITH
    events AS (DELETE FROM graph_agent_events WHERE thread_id = %(thread)s),
    cancels AS (DELETE FROM graph_agent_cancels WHERE thread_id = %(thread)s),
    begun AS (
        INSERT INTO graph_agent_runs VALUES (%(thread)s, %(now)s, %(now)s - 1, false)
        ON CONFLICT (thread_id) DO UPDATE SET
            number = greatest(%(now)s, graph_agent_runs.newest + {gap}),
            newest = greatest(%(now)s, graph_agent_runs.newest + {gap}) - 1,
            ended = false
        RETURNING number)
    SELECT number, pg_notify(%(channel)s, %(news)s) FROM begun""".format(
    gap="CASE WHEN graph_agent_runs.ended THEN 1 ELSE %(gap)s END"
)
APPEND = """WITH
    mine AS (
        UPDATE graph_agent_runs SET newest = %(newest)s, ended = %(ended)s
        WHERE thread_id = %(thread)s AND number = %(run)s AND NOT ended RETURNING 1),
    events AS (
        INSERT INTO graph_agent_events SELECT %(thread)s, id, event, data
        FROM unnest(%(ids)s::bigint[], %(names)s::text[], %(data)s::text[]) AS new(id, event, data)
        WHERE EXISTS (SELECT 1 FROM mine)
        ON CONFLICT DO NOTHING),
    cancels AS (
        DELETE FROM graph_agent_cancels WHERE thread_id = %(thread)s AND run = %(run)s
        AND %(ended)s)
    SELECT pg_notify(%(channel)s, %(news)s) FROM mine"""
RUN = "SELECT number, newest, ended FROM graph_agent_runs WHERE thread_id = %(thread)s"
AFTER = """SELECT id, event, data FROM graph_agent_events
    WHERE thread_id = %(thread)s AND id > %(last)s AND EXISTS
    (SELECT 1 FROM graph_agent_runs WHERE thread_id = %(thread)s AND number = %(run)s)
    ORDER BY id LIMIT %(page)s"""
DELETE = """WITH
    events AS (DELETE FROM graph_agent_events WHERE thread_id = %(thread)s),
    runs AS (DELETE FROM graph_agent_runs WHERE thread_id = %(thread)s),
    cancels AS (DELETE FROM graph_agent_cancels WHERE thread_id = %(thread)s)
    SELECT pg_notify(%(channel)s, %(news)s)"""
ASK_TO_CANCEL = """WITH asked AS (
    INSERT INTO graph_agent_cancels VALUES (%(thread)s, %(run)s)
    ON CONFLICT (thread_id) DO UPDATE SET run = excluded.run)
    SELECT pg_notify(%(channel)s, %(news)s)"""
CANCELS = "SELECT thread_id, run FROM graph_agent_cancels"
