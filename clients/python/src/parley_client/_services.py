# Made by `make client` from the command table: don't edit.
"""The properties of services that the client needs."""

PUBLIC = frozenset(["US_Create", "US_LogOn"])
"""Services that need no credential."""

READING = frozenset(
    [
        "AP_History",
        "AP_List",
        "AP_Read",
        "CV_List",
        "CV_Read",
        "CV_Search",
        "DM_List",
        "DM_Read",
        "MB_AgentList",
        "MB_List",
        "MB_Read",
        "MB_Recall",
        "US_Read",
        "US_Sessions",
        "ZN_List",
        "ZN_Read",
        "ZN_Stream",
    ]
)
"""Services that change nothing."""
