"""``sync --watch``: keep the modes set, for as long as it runs.

The `feed` says how the Services are and how they change. Each Service is a key of a `WorkQueue`,
which holds no events but the newest state: what came before no longer matters. Workers take keys,
and `Syncer` does with one Service what ``sync`` does. What happens is told to observers: a journal
of lines, metrics, Events in the cluster. Several copies may run, of which an election by a Lease
lets one work.

Nothing here knows who resets a mode or when. It compares what is with what is decided, again and
again, so a missed event, a restart or a second copy can do no more harm than a delay.
"""
