import { createRoot } from "react-dom/client";
import { App } from "./app";
import { applyTheme } from "./parts/theme";
import "./styles.css";

applyTheme();
const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
