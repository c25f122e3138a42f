// Everything that pages build on, in one import.
export { Access, AccessSelect, SEEN_BY } from "./access.js";
export { Button, CopyButton, LinkButton } from "./button.js";
export { Chart } from "./chart.js";
export { ConfirmByName } from "./confirm-by-name.js";
export { ChosenNames } from "./chosen-names.js";
export { Confirm, Dialog } from "./dialog.js";
export { SelectFilter, TextFilter, TimeFilter } from "./filters.js";
export { asShown, changedOf, Checkbox, Choice, Field, Form, Select, TextArea } from "./form.js";
export { Icon } from "./icons.js";
export { Json } from "./json.js";
export { NameField } from "./name-field.js";
export { Facts, Page, Section, Split } from "./page.js";
export { Menu, MenuItem } from "./menu.js";
export { Badge, Empty, ErrorNotice, Loaded, Loading, Notice, Secret } from "./notice.js";
export { More, Table, usePages } from "./table.js";
export { Tabs } from "./tabs.js";
export { toast } from "./toast.js";
