// render FILE -o X: a picture or description of the graph, no window server needed.
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include <QBuffer>
#include <QFontDatabase>
#include <QGuiApplication>

#include "app/cli/verbs.h"
#include "app/document/document.h"
#include "engine/base/write_file.h"
#include "views/canvas/render_scene.h"
#include "views/graph/graph_text.h"
#include "views/graph/overlays.h"
#include "views/layout/layered_layout.h"
#include "views/theme/fonts.h"

namespace nabla::app::cli {

using namespace nabla::engine;

namespace {

struct RenderOptions {
    std::string file, output, expand = "auto", overlay = "none", theme = "light";
    DimOptions dims;
};

class Clock {
public:
    /// Milliseconds since the last call.
    double lap() {
        const auto now = std::chrono::steady_clock::now();
        const double ms = std::chrono::duration<double, std::milli>(now - m_last).count();
        m_last = now;
        return ms;
    }

private:
    std::chrono::steady_clock::time_point m_last = std::chrono::steady_clock::now();
};

Result<std::set<std::string>> closedScopes(const std::string& expand, const views::ScopeTree& scopes) {
    if (expand == "auto")
        return views::defaultClosed(scopes);
    std::set<std::string> closed;
    if (expand == "all")
        return closed;
    char* end = nullptr;
    const long depth = std::strtol(expand.c_str(), &end, 10);
    if (end == expand.c_str() || *end != '\0' || depth < 0)
        return usageError("--expand {}: must be a depth, all or auto", expand);
    for (const auto& scope : scopes.scopes) {
        if (scope.parent >= 0 && std::count(scope.path.begin(), scope.path.end(), '/') == depth)
            closed.insert(scope.path);
    }
    return closed;
}

Result<views::ThemeKind> themeKind(const std::string& name) {
    if (name == "light")
        return views::ThemeKind::Light;
    if (name == "dark")
        return views::ThemeKind::Dark;
    if (name == "contrast")
        return views::ThemeKind::Contrast;
    return usageError("--theme {}: must be light, dark or contrast", name);
}

/// A QGuiApplication for fonts and painting; offscreen, so that no display is asked for.
class Painting {
public:
    Painting() {
        if (QGuiApplication::instance())
            return;
        qputenv("QT_QPA_PLATFORM", "offscreen");
        m_app = std::make_unique<QGuiApplication>(m_argc, m_argv);
    }

private:
    int m_argc = 1;
    char m_name[11] = "nablascope";
    char* m_argv[2] = {m_name, nullptr};
    std::unique_ptr<QGuiApplication> m_app;
};

Result<std::string> picture(const std::string& extension, const views::PreparedScene& scene, views::ThemeKind theme) {
    const views::PictureFormat format = extension == ".svg" || extension == ".html" ? views::PictureFormat::Svg : extension == ".pdf" ? views::PictureFormat::Pdf : views::PictureFormat::Png;
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    NABLA_CHECK(views::writePicture(buffer, format, scene, views::Theme::load(theme), views::uiFont(QFontDatabase::systemFont(QFontDatabase::GeneralFont))));
    std::string bytes = buffer.data().toStdString();
    if (extension == ".html")
        bytes = "<!doctype html><meta charset=\"utf-8\"><title>Nablascope</title><body style=\"margin:0\">" + bytes.substr(bytes.find("<svg")) + "</body>\n";
    return bytes;
}

Result<void> render(const RenderOptions& options, Context& context) {
    const std::string extension = std::filesystem::path(options.output).extension().string();
    if (extension != ".svg" && extension != ".png" && extension != ".pdf" && extension != ".dot" && extension != ".json" && extension != ".html")
        return usageError("-o {}: the ending must be .svg, .png, .pdf, .dot, .json or .html", options.output);
    const auto overlayKind = views::overlayFromName(options.overlay);
    if (!overlayKind)
        return usageError("--overlay {}: must be none, time, memory or gradient", options.overlay);
    if (*overlayKind == views::OverlayKind::Time || *overlayKind == views::OverlayKind::Gradient)
        return usageError("--overlay {}: needs a recording or a backward run, which only the window has yet", options.overlay);
    NABLA_TRY(const views::ThemeKind theme, themeKind(options.theme));
    NABLA_TRY(const DimBindings dims, options.dims.bindings());
    Clock clock;
    NABLA_TRY(const Document document, Document::open(options.file, context.job));
    const Graph& graph = document.chosen()->graph;
    const double parseMs = clock.lap();
    NABLA_CHECK(checkDims(graph, dims));
    const auto typeMap = types(graph, dims);
    const double inferMs = clock.lap();
    const views::ScopeTree scopes = views::scopeTree(graph);
    views::GraphViewOptions viewOptions;
    NABLA_TRY(viewOptions.closed, closedScopes(options.expand, scopes));
    views::ViewState state;
    state.graph = graph;
    state.types = typeMap;
    const views::Overlay overlay = views::makeOverlay(*overlayKind, state);
    if (*overlayKind != views::OverlayKind::None)
        viewOptions.overlay = &overlay;
    views::GraphView view = views::buildGraphView(graph, *typeMap, scopes, viewOptions);
    NABLA_TRY(const views::LayoutResult layout, views::layeredLayout(views::layoutRequestOf(view.scene), context.job.stop));
    views::applyLayout(view.scene, layout);
    const double layoutMs = clock.lap();
    const Painting painting;
    std::string bytes;
    double frameMs = 0;
    if (extension == ".dot") {
        bytes = views::graphDot(view);
    } else {
        const views::PreparedScene scene(view.scene);
        clock.lap();
        if (extension != ".json") {
            NABLA_TRY(bytes, picture(extension, scene, theme));
        } else {
            NABLA_TRY([[maybe_unused]] const std::string frame, picture(".png", scene, theme));
        }
        frameMs = clock.lap();
    }
    nlohmann::json report = {{"schema", 1}, {"parse_ms", parseMs}, {"infer_ms", inferMs}, {"layout_ms", layoutMs}, {"first_frame_ms", frameMs}};
    if (extension == ".json") {
        nlohmann::json description = views::graphJson(graph, view);
        description.update(report);
        bytes = description.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
    NABLA_CHECK(writeFile(options.output, bytes));
    report["written"] = options.output;
    if (context.json)
        context.printJson(report);
    else
        context.print(fmt::format("{}: parse {:.1f} ms, infer {:.1f} ms, layout {:.1f} ms, picture {:.1f} ms", options.output, parseMs, inferMs, layoutMs, frameMs));
    return {};
}

} // namespace

void addRender(::CLI::App& app, Context& context) {
    auto options = std::make_shared<RenderOptions>();
    auto* verb = app.add_subcommand("render", "a picture of the graph as svg, png, pdf, html, or its description as dot or json");
    verb->add_option("FILE", options->file, "model file")->required();
    verb->add_option("-o,--output", options->output, "file to write; the ending chooses the format")->required();
    verb->add_option("--expand", options->expand, "open scopes to this depth, all, or auto")->capture_default_str();
    verb->add_option("--overlay", options->overlay, "none or memory")->capture_default_str();
    verb->add_option("--theme", options->theme, "light, dark or contrast")->capture_default_str();
    addDims(*verb, options->dims);
    verb->callback([options, &context] {
        if (auto result = render(*options, context); !result)
            context.fail(result.error());
    });
}

} // namespace nabla::app::cli
